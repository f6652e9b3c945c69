import { createContext, type ReactNode, useContext } from "react";
import { type Me, whyNot } from "../rules/why-not.ts";

const Context = createContext<Me | null>(null);

export const MeProvider = ({ me, children }: { me: Me; children: ReactNode }) => (
  <Context value={me}>{children}</Context>
);

export function useMe(): Me {
  const me = useContext(Context);
  if (me === null) throw new Error("nobody is signed in here");
  return me;
}

export const useWhyNot = (operation: string): string | null => whyNot(useMe(), operation);
