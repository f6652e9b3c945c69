import type { Command } from "commander";
import { revokeTokens, rotateToken, setStatus, type TokenOptions } from "./commands/directory.ts";
import type { Io } from "./io.ts";
import { add, all } from "./program-parts.ts";

/** `directory rotate-token`, `revoke-tokens`, `pause` and `resume`; the records are those of `get directories`. */
export function addDirectory(parent: Command, io: Io) {
  const directory = parent.command("directory").description("directories (SCIM): role mapping, tokens, pauses");
  add(
    directory,
    "rotate-token",
    "a new token; earlier ones go on for the grace period",
    "muster directory rotate-token ID --grace 24 --json | jq -r .token",
  )
    .argument("<id>")
    .option("--grace <hours>", "how long earlier tokens go on; 0 ends them at once", "24")
    .action((id: string, _options, command: Command) => rotateToken(io, id, all<TokenOptions>(command)));
  add(directory, "revoke-tokens", "end all tokens at once", "muster directory revoke-tokens ID --yes")
    .argument("<id>")
    .action((id: string, _options, command: Command) => revokeTokens(io, id, all(command)));
  add(directory, "pause", "refuse requests of a directory until it is resumed", "muster directory pause ID")
    .argument("<id>")
    .action((id: string, _options, command: Command) => setStatus(io, id, "paused", all(command)));
  add(directory, "resume", "let a paused directory go on", "muster directory resume ID")
    .argument("<id>")
    .action((id: string, _options, command: Command) => setStatus(io, id, "active", all(command)));
}
