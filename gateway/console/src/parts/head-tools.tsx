import { createContext, type ReactNode, useContext, useState } from "react";
import { createPortal } from "react-dom";
import styles from "./facts.module.css";

const Slot = createContext<HTMLElement | null>(null);

/** A part with a head, at whose end stands what is inside of HeadTools below it. */
export function WithHead({ head, children }: { head(tools: ReactNode): ReactNode; children: ReactNode }) {
  const [slot, setSlot] = useState<HTMLElement | null>(null);
  return (
    <>
      {head(<span ref={setSlot} className={styles.tools} />)}
      <Slot.Provider value={slot}>{children}</Slot.Provider>
    </>
  );
}

/** Small buttons that stand in the head of the part around them; where they are, without such a part. */
export function HeadTools({ children }: { children: ReactNode }) {
  const slot = useContext(Slot);
  return slot ? createPortal(children, slot) : children;
}
