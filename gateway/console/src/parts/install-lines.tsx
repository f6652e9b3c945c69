import { installLines } from "../rules/install-line.ts";
import { CopyButton } from "./list-head.tsx";
import styles from "./secret-once.module.css";

/** The lines to paste, by system, and the key that the installer asks for; null before there is one. */
export const InstallLines = ({ secret }: { secret: string | null }) => (
  <>
    <dl className={styles.lines}>
      {installLines(location.origin).map(([system, line]) => (
        <div key={system}>
          <dt>{system}</dt>
          <CodeLine of={line} what={`line for ${system}`} isCopied={secret !== null} />
        </div>
      ))}
      {secret === null ? null : (
        <div>
          <dt>Enrollment key</dt>
          <CodeLine of={secret} what="key" isCopied isKey />
        </div>
      )}
    </dl>
    <p className="soft">
      {secret === null
        ? "It asks for the enrollment key, which stands here as soon as you have created it."
        : "The line asks for the key, which is shown only this once."}
    </p>
  </>
);

type CodeLineProps = { of: string; what: string; isCopied: boolean; isKey?: true };

/** A line for a terminal, and beside it what copies it. */
const CodeLine = ({ of, what, isCopied, isKey }: CodeLineProps) => (
  <dd className={styles.code} data-is-key={isKey}>
    <code>{of}</code>
    {isCopied ? <CopyButton what={what} text={() => of} isSmall /> : null}
  </dd>
);
