// The ids, names and times that the examples of the REST reference have in common.

export const EXAMPLE = {
  user: 'a11c2e4f-3b7d-4c58-9f61-0d2b8e5a7c13',
  talkgroup: '7e0d5c1a-9b42-4f3e-8a76-1c9d0b2e4f58',
  device: '5e1a7b90-6d3c-4e82-b5f4-9a0c1d2e3f47',
  emergency: 'e3c9a8d1-2f60-4b7a-93e5-6d8f0a1b2c34',
  holder: '2b6d4f80-9c1e-4a37-8d52-7f0e1a3c5b94',
  position: '9f02d7b6-5a14-4c93-8e2d-7b6a5c4d3e21',
  /** Short for the eye: a real one is about 250 characters. */
  jwt: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhMTFjIn0.c2lnbmF0dXJl',
  at: '2026-01-01T08:30:00.000Z',
} as const;
