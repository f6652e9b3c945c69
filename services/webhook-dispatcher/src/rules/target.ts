/** A URL without userinfo and fragment, and `user:password` of it. */
export function splitUserinfo(text: string): { url: string; userinfo: string | null } {
  const url = new URL(text);
  const { username, password } = url;
  const userinfo = username === "" && password === "" ? null : `${decoded(username)}:${decoded(password)}`;
  url.username = "";
  url.password = "";
  url.hash = "";
  return { url: url.href, userinfo };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray percent sign: kept unchanged.
    return text;
  }
}
