// A console in a browser: a page that is logged in, and everything that went wrong in it.
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  ConsoleMessage,
  Locator,
  Page,
} from 'playwright-core';
import type { Test } from 'tap';
import { eventually, HANGS_MS } from '../eventually.js';
import { PASSWORD, PASSWORD_HASH } from '../http/rest.js';
import type { Person, Service } from '../service/service.js';
import { endingOf } from './chromium.js';

export type DeskOptions = {
  /** Texts of console errors that the test causes on purpose, such as a connection that is cut. */
  expected?: readonly RegExp[];
  context?: BrowserContextOptions;
  /** Left alone, the console asks for the microphone with a button. Default: the button is pressed. */
  withoutMicrophone?: boolean;
  /** Runs in the page before its own scripts. */
  init?: string;
  /** An address in the place of that of the service. */
  address?: string;
  /** Called before the page is opened. */
  before?: (page: Page) => Promise<void>;
};

export type Desk = {
  page: Page;
  context: BrowserContext;
  /** The tile of a talkgroup. */
  tile(name: string): Locator;
  /** Of a tile: a button by the beginning of its name, such as `Talk in`. */
  button(what: string, name: string): Locator;
  /** The menu of a talkgroup, which is opened unless it is open. */
  menu(name: string): Promise<Locator>;
  /** Presses a button of that menu by the beginning of its name, such as `Members of`. */
  choose(what: string, name: string): Promise<void>;
  /** Console errors and violations of the policy so far, without the expected ones. */
  problems: readonly string[];
};

/** Opens the page of the console, at which nothing may go wrong until the test ends. */
export async function openPage(
  t: Test,
  browser: Browser,
  s: Pick<Service, 'rest' | 'sql'>,
  options: DeskOptions = {},
) {
  const { expected = [], context: over = {}, address = s.rest, before } = options;
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...over });
  const problems: string[] = [];
  const found = (text: string) => {
    if (!expected.some((one) => one.test(text))) problems.push(text);
  };
  await context.exposeBinding('policyViolated', (_source, text: string) => found(text));
  await context.addInitScript({ content: TELL_VIOLATIONS });
  if (options.init !== undefined) await context.addInitScript({ content: options.init });
  const page = await context.newPage();
  page.setDefaultTimeout(HANGS_MS);
  page.on('pageerror', (error) => found(String(error)));
  page.on('console', (message) => message.type() === 'error' && found(textOf(message)));
  t.teardown(async () => {
    await endingOf(t, context.close());
    // No assertion, because the test has ended.
    if (problems.length > 0) t.threw(new Error(`errors in the page: ${problems.join(', ')}`));
  });
  await before?.(page);
  await page.goto(`${address}/console/`);
  return { page, context, problems };
}

const TELL_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  policyViolated('violated: ' + event.violatedDirective + ' by ' + event.blockedURI));`;

/** Chromium says where, and for a request that failed only there. */
const textOf = (message: ConsoleMessage) => `${message.text()} (${message.location().url})`;

/** Gives an account of `person` the password of `logIn`, without the 50 ms of a hash. */
export async function withPassword(s: Pick<Service, 'sql'>, person: Pick<Person, 'id'>): Promise<void> {
  await s.sql`update users set password_hash = ${PASSWORD_HASH} where id = ${person.id}`;
}

/** Fills in the form and waits for the first view. */
export async function logIn(page: Page, username: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Username' }).fill(username);
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('tab').first().waitFor();
}

/** A console with the account of `person` logged in. Its radio is connected, and its microphone is open. */
export async function desk(
  t: Test,
  browser: Browser,
  s: Pick<Service, 'rest' | 'sql'>,
  person: Pick<Person, 'id' | 'name'>,
  options: DeskOptions = {},
): Promise<Desk> {
  const { page, context, problems } = await openPage(t, browser, s, options);
  await withPassword(s, person);
  await logIn(page, person.name);
  await connected(page);
  if (!options.withoutMicrophone) await allowMicrophone(page);
  const tile = (name: string) => page.getByRole('group', { name, exact: true });
  const button = (what: string, name: string) =>
    tile(name).getByRole('button', { name: `${what} ${name}`, exact: true });
  const menu = async (name: string) => {
    const opener = button('More for', name);
    if ((await opener.getAttribute('aria-expanded')) !== 'true') await opener.click();
    return page.getByRole('dialog', { name: `More for ${name}`, exact: true });
  };
  return {
    page,
    context,
    problems,
    tile,
    button,
    menu,
    async choose(what, name) {
      await (await menu(name)).getByRole('button', { name: `${what} ${name}`, exact: true }).click();
    },
  };
}

/** The words of the connection. */
export const connection = (page: Page): Locator => page.getByRole('status', { name: 'Connection' });

export async function connected(page: Page): Promise<void> {
  await connection(page)
    .filter({ hasText: /^Connected/ })
    .waitFor({ state: 'attached' });
}

/** The button is there until the microphone is open. */
export async function allowMicrophone(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Allow the microphone' });
  const permission = `navigator.permissions.query({ name: 'microphone' }).then(({ state }) => state)`;
  // With the permission, which a fake dialog gives to every page, the console opens the microphone without a question.
  if ((await page.evaluate(permission)) !== 'granted') await button.click();
  await button.waitFor({ state: 'detached' });
}

/** Opens the settings by the menu of the account. */
export async function openSettings(page: Page): Promise<void> {
  await page.getByRole('button', { name: /, Account$/ }).press('Enter');
  await page.getByRole('menuitem', { name: 'Settings' }).press('Enter');
}

/** Leaves the first steps, which a browser without an open microphone shows. */
export async function leaveFirstRun(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Skip, I know the way' }).click();
}

/** The map has drawn something: its canvas is there, and no trouble is told. */
export async function mapDrawn(page: Page): Promise<void> {
  await page.locator('canvas.maplibregl-canvas').waitFor();
  await page.getByText('Loading the map').waitFor({ state: 'detached' });
}

/** Waits until a toggle button shows this state. */
export async function pressed(button: Locator, isPressed: boolean): Promise<void> {
  await eventually(async () => {
    const state = await button.getAttribute('aria-pressed');
    if (state !== String(isPressed)) throw new Error(`aria-pressed is ${state}`);
  });
}
