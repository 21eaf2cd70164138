// The tests of talk once more, on a relay that is answered after each question has been put.
process.env.TEST_LATE_ANSWERS = 'soon';

await import('./talk.test.js');
await import('./bursts.test.js');
await import('./frames.test.js');
await import('./held.test.js');
await import('./resume-floor.test.js');

export {};
