// Declares a line of the dock: what the console tells the user or asks for.
export type Notice = {
  text: string;
  /** Said at once by screen readers. */
  isError: boolean;
  /** One behind the other with the same key are one line, of which the text changes. Default: the text. */
  key?: string;
  /** null: the user can do nothing here. */
  button: NoticeButton | null;
  /** Behind it. */
  more?: readonly NoticeButton[];
};

/** `name`: accessible name, when the text is not enough. */
export type NoticeButton = { text: string; name?: string; press(): void };
