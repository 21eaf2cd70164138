// Recognizes well-known keys and passwords: examples of documents and templates, and what users type in their place.

/** Parts of the placeholders that tutorials, templates and generators print. Letters and digits only. */
const placeholders = [
  'changeme',
  'replaceme',
  'placeholder',
  'example',
  'mysecret',
  'yoursecret',
  'supersecret', // Supabase's, among many
  'secretkey',
  'jwtsecret',
  '256bitsecret', // jwt.io, before the next
  'stringsecretatleast', // jwt.io
  'aym1sysppbydfgzld3umj1qzkobwvmkoqqestjqlrt1qs0gzh75aktmn3yj0ips4hcguutwjazzr1z9caow', // RFC 7515, A.1
];

/** The most common passwords of leaked lists, and those of docs/getting-started.md. */
const passwords = new Set([
  'admin',
  'administrator',
  'root',
  'password',
  'passwort',
  'passwd',
  'pass',
  'secret',
  'changeme',
  'changeit',
  'letmein',
  'welcome',
  'default',
  'test',
  'qwerty',
  'radio',
  'annsecret',
  'bobsecret',
]);

/** Whether a key is a placeholder, or a piece of text again and again. A key drawn at random never is. */
export function isSampleKey(text: string): boolean {
  const plain = text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  return placeholders.some((part) => plain.includes(part)) || repeatsItself(text);
}

/** Whether a password is one of the obvious: known words with or without digits, a count, one character, or the name. */
export function isSamplePassword(text: string, username: string): boolean {
  const [plain, name] = [text, username].map((each) => each.toLowerCase());
  const letters = text.toLowerCase().replaceAll(/[^\p{L}]/gu, '');
  const isCount = '012345678901234567890'.includes(text) || '0987654321'.includes(text);
  return passwords.has(letters) || isCount || plain === name || new Set(text).size === 1;
}

/** `abcabcab`: the whole of it is a beginning of it, at most half as long, over and over. */
function repeatsItself(text: string): boolean {
  for (let period = 1; period <= (text.length + 1) / 2; period++) {
    if (text.startsWith(text.slice(period))) return true;
  }
  return false;
}
