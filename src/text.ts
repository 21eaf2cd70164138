// States which characters a text may have that a client or an operator chooses, such as a name.

/** True without control characters (C0, DEL, C1) and unpaired surrogates: the text can be stored and fits one line. */
export const isPrintable = (text: string) => !/[\p{Cc}\p{Cs}]/u.test(text);
