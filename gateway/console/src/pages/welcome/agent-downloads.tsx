import { useState } from "react";
import { useGet } from "../../api/queries.ts";
import { CopyButton } from "../../parts/list-head.tsx";
import secrets from "../../parts/secret-once.module.css";
import { downloadLine } from "../../rules/download-line.ts";

/** The promoted agent for each system, as a line that fetches and verifies it; nothing while none is promoted. */
export function AgentDownloads() {
  const { data } = useGet("/api/v1/agents/downloads");
  const [chosen, choose] = useState(0);
  const file = data?.data[chosen];
  if (!file) return null;
  const line = downloadLine(file);
  return (
    <details>
      <summary>Fetch the program by hand</summary>
      <p>The line fails unless the file is the one that was published. Give the agent this address and the key.</p>
      <label>
        System{" "}
        <select value={chosen} onChange={({ target }) => choose(Number(target.value))}>
          {data.data.map(({ os, arch, libc }, index) => (
            <option key={`${os} ${arch} ${libc}`} value={index}>
              {os} {arch} {libc === "musl" ? "(musl)" : ""}
            </option>
          ))}
        </select>
      </label>
      <pre className={secrets.secret}>{line}</pre>
      <CopyButton what="download" text={() => line} />
    </details>
  );
}
