/** States that the console calls by what they wait for, not by the API's name. */
const words: ReadonlyMap<string, string> = new Map([
  ["quarantined", "to approve"],
  // A receiver that answers 500 is reached: the cause beside it says which of the two it is.
  ["unreachable", "failing"],
]);

/** A state of the API as the console says it, everywhere. */
export const stateWord = (state: string): string => words.get(state) ?? state;
