import type { Command } from "commander";
import { namesFor, resources, type Verb } from "./resources.ts";

const verbs: Record<string, Verb | "list"> = { get: "list", create: "create", update: "update", delete: "delete" };

/** What may follow as the last word: commands, options, resources, filters. */
export function candidates(program: Command, words: readonly string[]): string[] {
  const typed = words.at(-1) ?? "";
  let command = program;
  const args: string[] = [];
  for (const word of words.slice(0, -1)) {
    const inner = args.length === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    if (inner) command = inner;
    else if (!word.startsWith("-")) args.push(word);
  }
  return offered(command, args, typed).filter((word) => word.startsWith(typed));
}

function offered(command: Command, args: readonly string[], typed: string): string[] {
  if (typed.startsWith("-")) return optionsOf(command);
  const verb = verbs[command.name()];
  if (verb && args.length === 0) return namesFor(verb);
  if (verb === "list" && args[0] !== undefined) return filtersOf(args[0]);
  if (command.name() === "completion") return Object.keys(scripts);
  return command.commands.map((each) => each.name()).filter((name) => !name.startsWith("__"));
}

function optionsOf(command: Command): string[] {
  const own = command.options.map(({ long }) => long ?? "");
  return command.parent ? [...own, ...optionsOf(command.parent)] : [...own, "--help"];
}

const filtersOf = (name: string) =>
  resources.find((each) => each.name === name)?.filters.map((filter) => `${filter}=`) ?? [];

/** Scripts that ask the program for what may come next, so that they never fall behind it. */
export const scripts: Readonly<Record<string, string>> = {
  bash: `_muster() {
  local IFS=$'\\n' line=\${COMP_LINE:0:COMP_POINT} words
  IFS=' ' read -ra words <<< "$line"
  [[ $line == *' ' ]] && words+=('')
  COMPREPLY=($(muster __complete -- "\${words[@]:1}" 2>/dev/null))
  # What stands before a colon or an equals sign is a word of its own here.
  local last=\${words[\${#words[@]}-1]} current=\${COMP_WORDS[COMP_CWORD]}
  [[ $last == *=* ]] && COMPREPLY=("\${COMPREPLY[@]#"\${last%"$current"}"}")
  [[ \${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -F _muster muster
`,
  zsh: `#compdef muster
_muster() {
  local -a found
  found=("\${(@f)$(muster __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -S '' -- \${(M)found:#*=}
  compadd -- \${found:#*=}
}
compdef _muster muster
`,
  fish: `function __muster_complete
  set -l words (commandline -opc) (commandline -ct)
  muster __complete -- $words[2..-1] 2>/dev/null
end
complete -c muster -f -a '(__muster_complete)'
`,
};
