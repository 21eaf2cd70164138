// The link with which a user opens the console to set a password with a setup code.

/** Behind it stands the code. What is behind `#` reaches no server and no log. */
export const SETUP_HASH = '#setup=';

/** `origin`: address of the REST port, such as https://radio.example. */
export const setupLink = (origin: string, code: string): string => `${origin}/console/${SETUP_HASH}${code}`;
