// The tests of the floor once more, on a relay that is answered after each question has been put.
process.env.TEST_LATE_ANSWERS = 'soon';
process.env.PROVE_RUNS ??= '900';

await import('./floor.test.js');
await import('./floor-live.test.js');

export {};
