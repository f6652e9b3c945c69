/** Whether a text contains the words, ignoring case. */
export const contains = (text: string, words: string): boolean => text.toLowerCase().includes(words.toLowerCase());
