import { type KeyObject } from "node:crypto";
/** A key that verifies notes: its C2SP verifier key text is `name+hash+base64(0x01 ‖ public key)`. */
export type NoteVerifier = {
    name: string;
    hash: string;
    publicKey: KeyObject;
    text: string;
};
export type NoteSigner = NoteVerifier & {
    privateKey: KeyObject;
};
export type OpenedNote = {
    /** What was signed, the last newline included. */
    text: string;
    /** The known keys whose signatures hold; at least one. */
    signers: NoteVerifier[];
};
/** A note that nobody known signed, or whose form is broken. `text` is what it says, when it says anything. */
export declare class NoteError extends Error {
    readonly text: string | null;
    constructor(message: string, text?: string | null);
}
/** Signs `text` (C2SP signed-note): it must end in a newline and hold no other control character. */
export declare function signNote(text: string, signer: NoteSigner): string;
/**
 * Opens a signed note: its text, and the known keys that signed it. Signatures of unknown keys are passed over; throws
 * NoteError when none of a known key is there, or one of a known key does not hold.
 */
export declare function openNote(note: string, known: readonly NoteVerifier[]): OpenedNote;
/**
 * The keys of setting CHECKPOINT_PRIVATE_KEY, `name:base64 PKCS#8 (Ed25519)[,…]` or `name+hash+base64` of a key that only
 * verifies any more. The first signs, all verify. Throws on anything else.
 */
export declare function noteKeys(setting: string): {
    signer: NoteSigner;
    verifiers: NoteVerifier[];
};
/** Reads a C2SP verifier key, `name+hash+base64`; throws when it is none or its hash is another key's. */
export declare function parseVerifier(text: string): NoteVerifier;
/** A new key as CHECKPOINT_PRIVATE_KEY takes it. */
export declare function generateNoteKey(name: string): string;
//# sourceMappingURL=signed-note.d.ts.map