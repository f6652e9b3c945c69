import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { wrongUsage } from "./failure.ts";
import type { Io } from "./io.ts";

export type Prompt = {
  /**
   * One line of standard input, trimmed; a hidden one is not shown while it is typed. Throws a Failure at the end of
   * input.
   */
  ask(question: string, options?: { hidden?: boolean }): Promise<string>;
  close(): void;
};

/** Questions go to standard error, so that standard output stays the result. */
export function promptOf({ stdin, stderr }: Io): Prompt {
  let isHidden = false;
  const echo = new Writable({
    write(chunk, _encoding, written) {
      if (!isHidden) stderr.write(chunk);
      written();
    },
  });
  const lines = createInterface({ input: stdin, output: echo, terminal: stdin.isTTY === true });
  const pending = lines[Symbol.asyncIterator]();
  return {
    async ask(question, { hidden = false } = {}) {
      // As readline's own prompt it is drawn again when a typed line is edited.
      lines.setPrompt(`${question}: `);
      lines.prompt();
      isHidden = hidden;
      const { value, done } = await pending.next();
      isHidden = false;
      if (hidden || stdin.isTTY !== true) stderr.write("\n");
      if (done) throw wrongUsage(`no ${question.toLowerCase()} on standard input`);
      return hidden ? String(value).replace(/\r$/, "") : String(value).trim();
    },
    close: () => lines.close(),
  };
}
