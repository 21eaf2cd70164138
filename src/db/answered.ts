// Checks that what postgres.js resolves with is the server's answer, and all of it.

/**
 * What postgres.js 3.4.9 says is the answer, made sure of. With these two a valid token looked like an unknown one.
 *
 * Where connections die under it, it now and then resolves a statement with a result that no byte of an answer went
 * into: no command is named in it. That statement is lost.
 *
 * It counts a connection's rows on from where a statement ended amid its own, by an error or with the connection that
 * this one replaces: the rows of the next one then have holes before them (porsager/postgres, issue 1181).
 */
export function answered<Row>(rows: Row[] & { readonly command?: string | null }): Row[] {
  if (rows.command === null) throw new UnansweredError('resolved without an answer');
  return rows.length > 0 && !(0 in rows) ? rows.filter(() => true) : rows;
}

class UnansweredError extends Error {
  /** Read by `faultOf`: sent, and no answer came. */
  readonly code = 'UNANSWERED';
}
