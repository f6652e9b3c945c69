import type { Command } from "commander";
import { actions, groups, idsOf } from "./actions.ts";
import { type ActionOptions, runAction, takesFields } from "./commands/actions.ts";
import type { Io } from "./io.ts";
import { add, all, organization } from "./program-parts.ts";

/** The command of that name below another; a group is made where it has none. */
const groupOf = (parent: Command, name: string) =>
  parent.commands.find((each) => each.name() === name) ?? parent.command(name).description(groups[name] ?? "");

const idName = (name: string) => `<${name === "id" ? name : name.replace(/Id$/, "")}>`;

/** A command for each action, in groups that exist and in its own. */
export function addActions(program: Command, io: Io): void {
  for (const action of actions) {
    const words = action.words.split(" ");
    const name = words.pop() ?? "";
    const ids = idsOf(action);
    const example = ["muster", action.words, ...ids.map((id) => (id === "name" ? "system" : "ID")), action.example];
    const command = add(words.reduce(groupOf, program), name, action.about, example.filter(Boolean).join(" "));
    for (const id of ids) command.argument(idName(id));
    if (takesFields(action)) {
      command
        .argument("[fields...]", "as for create")
        .option("--file <file>", "a JSON object to start from; - for input");
    } else if (action.filters.length > 0)
      command.argument("[filters...]", `NAME=VALUE of ${action.filters.join(", ")}`);
    if (action.filters.includes("orgId")) command.addOption(organization());
    command.action((...params: unknown[]) => {
      const args = params
        .slice(0, -2)
        .flat()
        .filter((each): each is string => typeof each === "string");
      return runAction(io, action, args, all<ActionOptions>(command));
    });
  }
}
