/** A chain's head at a time: whoever holds the signed note can tell when rows up to `seq` were changed or cut. */
export type Checkpoint = {
    chainId: string;
    seq: number;
    head: string;
    at: Date;
};
/** Text of a checkpoint, to be signed as a note. */
export declare function checkpointText(deployment: string, c: Checkpoint): string;
/** Reads what `checkpointText` wrote; null when it is none, or another deployment's. `deployment` null takes any. */
export declare function parseCheckpoint(text: string, deployment: string | null): Checkpoint | null;
//# sourceMappingURL=checkpoint.d.ts.map