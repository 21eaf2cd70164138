// Sends logins by the clock, each on its own connection if needed, and verifies every token.
import { createVerifier } from 'fast-jwt';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import type { Member } from '../../radios/member.js';
import { type Busy, type Performance, perform } from '../player.js';
import { type Answer, createSender, encodeRequest, type Sent } from '../requests.js';

export interface LoginsSetup {
  readonly url: string;
  readonly connectionsMax: number;
  readonly users: readonly Member[];
  /** Of all of them. */
  readonly password: string;
  readonly jwtSecret: string;
}

export interface LoginsPiece {
  /** By nowMs(). */
  readonly fromMs: number;
  readonly ms: number;
  readonly logins: number;
}

export interface LoginsPlayed extends Busy {
  readonly sent: Sent;
  /** Answered with 200, but without a token of that user under the service's key. */
  readonly wrong: number;
  /** What the others were told, by status and sentence. */
  readonly refusals: Readonly<Record<string, number>>;
}

perform<LoginsSetup, LoginsPiece, LoginsPlayed, null>(prepare);

async function prepare(setup: LoginsSetup): Promise<Performance<LoginsPiece, LoginsPlayed, null>> {
  const { url, connectionsMax, users, password, jwtSecret } = setup;
  const sender = createSender({ url, connectionsMax });
  const isTokenOf = createCheck(jwtSecret);

  const userOf = (index: number) => users[index % users.length]?.username ?? '';
  const request = (index: number) =>
    encodeRequest({ method: 'POST', path: '/auth/login', body: { username: userOf(index), password } });

  return {
    async play({ fromMs, ms, logins }) {
      const refusals: Record<string, number> = {};
      let wrong = 0;

      function answered(index: number, { status, body }: Answer): void {
        const said = JSON.parse(body.toString()) as { jwt?: string; error?: string }; // every answer is one or the other
        if (status === 200) {
          if (!isTokenOf(userOf(index), said.jwt)) wrong++;
          return;
        }
        const refusal = `${status} ${said.error}`;
        refusals[refusal] = (refusals[refusal] ?? 0) + 1;
      }

      const usage = readUsage([]);
      const perSecond = (logins * 1000) / ms;
      const sent = await sender.play({ fromMs, ms, perSecond, request, answered });
      return { sent, wrong, refusals, generatorShare: sharesOf(spent(usage, readUsage([]))).generatorShare };
    },
    end: async () => null,
  };
}

function createCheck(key: string) {
  const verify = createVerifier({
    key,
    algorithms: ['HS256'],
    requiredClaims: ['sub', 'username', 'role', 'iat'],
  });
  return (username: string, token = ''): boolean => {
    try {
      return (verify(token) as { username: string }).username === username;
    } catch {
      // Expected: of a token that is none of the service's.
      return false;
    }
  };
}
