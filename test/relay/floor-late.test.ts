// The tests of the floor once more, on a relay that is answered after each question has been put.
process.env.TEST_LATE_ANSWERS = 'soon';

await import('./floor.test.js');

export {};
