import { type NoteVerifier, openNote } from "@muster/kit";
import { parseCheckpoint } from "./checkpoint.ts";

/** Of signed notes, the checkpoints of rows up to `seq`, each once; what no known key signed is left out. */
export function notesUpTo(notes: readonly string[], verifiers: readonly NoteVerifier[], seq: number): string[] {
  return [...new Set(notes)].filter((note) => {
    try {
      const checkpoint = parseCheckpoint(openNote(note, verifiers).text, null);
      return checkpoint !== null && checkpoint.seq <= seq;
    } catch {
      return false;
    }
  });
}
