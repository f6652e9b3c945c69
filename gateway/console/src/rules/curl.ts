/** The curl command that requests what a page shows; users insert their own key. */
export function curlOf(origin: string, path: string, query: Readonly<Record<string, string | undefined>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) parameters.set(name, value);
  const text = parameters.size > 0 ? `?${parameters}` : "";
  return `curl -s -H "X-API-Key: $MUSTER_API_KEY" '${origin}${path}${text.replaceAll("'", "%27")}'`;
}
