// States which characters a text may have that a client or an operator chooses, such as a name.

/** True without control characters (C0, DEL, C1) and unpaired surrogates: the text can be stored and fits one line. */
export const isPrintable = (text: string) => !/[\p{Cc}\p{Cs}]/u.test(text);

/** Format characters, line and paragraph separators, what fonts leave out, blanks of other kinds, and a blank that is a letter. */
const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;
const OUTER_OR_DOUBLE_BLANK = /^ | $| {2}/;

/** Printable, and no other text looks the same for what cannot be seen in it. For names that people tell each other by. */
export const isClear = (text: string) =>
  isPrintable(text) && !UNSEEN.test(text) && !OUTER_OR_DOUBLE_BLANK.test(text);

/** Why a text is not clear. */
export const CLEAR_TEXT_RULE =
  'must not contain control or invisible characters, two spaces in a row, or a space at its ends';
