// The reference of error codes: each code of the gateway's table with its status, cause and remedy.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export async function errorsPage(root) {
  const compiled = (file) => import(pathToFileURL(join(root, "gateway/dist", file)).href);
  const { statusOf } = await compiled("errors.js");
  const { errorGuide } = await compiled("error-guide.js");
  const rows = Object.entries(errorGuide)
    .map(([code, guide]) => ({ code, status: statusOf(code), ...guide }))
    .sort((a, b) => a.status - b.status || a.code.localeCompare(b.code))
    .map(({ code, status, cause, remedy }) => `| ${status} | \`${code}\` | ${cause} | ${remedy} |`);
  return {
    "docs/errors.md": `# Errors

Every code of the API, made from the code by \`node deploy/reference/generate.mjs\`.

- An error's body is \`{error, code, requestId}\`: a sentence for people, a code that stays, the id under which the log has the request.
- 4xx: nothing was stored. 429 and 503 carry \`Retry-After\`. After 504 the work may have been done.
- Strangers get the same answer for what does not exist and what is not theirs: [behaviour.md](behaviour.md#errors).

| Status | Code | Cause | Remedy |
|---|---|---|---|
${rows.join("\n")}
`,
  };
}
