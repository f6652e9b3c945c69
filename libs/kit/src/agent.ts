// What agents share with the platform: frames of the channel, signed notes and root notes. It loads no package.

export {
  type AgentFrame,
  agentChunkBytes,
  agentQueriesMax,
  agentReplyBytes,
  decodeAgentFrame,
  encodeAgentFrame,
} from "./agent-frame.ts";
export { followRoots, nextRoot, rootNumberOf, type TrustedRoot } from "./root-note.ts";
export { NoteError, type NoteVerifier, type OpenedNote, openNote, parseVerifier } from "./signed-note.ts";
