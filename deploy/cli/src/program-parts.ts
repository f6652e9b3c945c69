import { type Command, Option } from "commander";
import { Failure } from "./failure.ts";
import type { Globals } from "./io.ts";
import { timeOf } from "./times.ts";

/** A command with its sentence and an example in its help. */
export const add = (parent: Command, signature: string, description: string, example: string) =>
  parent.command(signature).description(description).addHelpText("after", `\nExample:\n  $ ${example}`);

/** The options of a command, with those that every command takes. */
export const all = <T extends Globals>(command: Command) => command.optsWithGlobals<T>();

export const organization = () => new Option("--org <id>", "the organization that it is about");

/** Reads the value of an option that is a time. */
export const time = (text: string) => timeOf(text, new Date());

/** Another program that was run has printed its errors itself. */
export function ended(code: number): void {
  if (code !== 0) throw new Failure(code, "");
}
