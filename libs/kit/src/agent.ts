// What agents share with the platform: frames of the channel, signed notes and root notes. It loads no package.

export { followRoots, nextRoot, rootNumberOf, type TrustedRoot } from "./crypto/root-note.ts";
export { NoteError, type NoteVerifier, type OpenedNote, openNote, parseVerifier } from "./crypto/signed-note.ts";
export { codeOf, messageOf } from "./errors/caught.ts";
export {
  type AgentFrame,
  agentChunkBytes,
  agentQueriesMax,
  agentReplyBytes,
  decodeAgentFrame,
  encodeAgentFrame,
} from "./formats/agent-frame.ts";
export { fieldsOf } from "./text/fields.ts";
