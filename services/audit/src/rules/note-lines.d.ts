/** The lines of a note's text; empty when it does not end in a newline. */
export declare function linesOf(text: string): string[];
/** A UUID in the one spelling that notes use. */
export declare function isChainId(text: string): boolean;
/** A place in a chain, from 1, written in one way. */
export declare function isSeq(text: string): boolean;
//# sourceMappingURL=note-lines.d.ts.map