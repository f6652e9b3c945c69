/**
 * The objects of a reply of JSON lines (`parseAs: "stream"`), as they come. Ends with the reply; rejects when the reply
 * is cut.
 */
export async function* linesOf<T = unknown>(body: ReadableStream<Uint8Array> | null): AsyncGenerator<T> {
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let unfinished = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (unfinished + decoder.decode(value, { stream: true })).split("\n");
      unfinished = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line) as T;
    }
  } finally {
    await reader.cancel();
  }
}
