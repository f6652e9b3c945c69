/** Bytes kept of each end. */
const most = 2 * 1024;

/** The length of a body beyond its limit, and its first and last bytes: what identifies its sender. */
export class BodyEnds {
  #bytes = 0;
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer = Buffer.alloc(0);

  /** Bytes that have come. */
  get bytes(): number {
    return this.#bytes;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#head.length < most) this.#head = Buffer.concat([this.#head, chunk.subarray(0, most - this.#head.length)]);
    // Copied: a view would keep the whole chunk.
    this.#tail = Buffer.concat([this.#tail, chunk.subarray(-most)]).subarray(-most);
  }

  /**
   * The value of a form's field at the body's beginning or end, where a browser puts the small fields beside a large
   * one; null when none is there. `value` is the pattern of its value, and matches no `&`.
   */
  formField(name: string, value: RegExp): string | null {
    const [head, tail] = [this.#head.toString("latin1"), this.#tail.toString("latin1")];
    const found =
      new RegExp(`(?:^|&)${name}=(${value.source})&`).exec(head) ??
      new RegExp(`&${name}=(${value.source})(?:&|$)`).exec(tail);
    return found?.[1] ?? null;
  }
}
