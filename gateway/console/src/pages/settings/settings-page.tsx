import type { ReactNode } from "react";
import { useWhyNot } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { NotAllowed } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";

type SettingsPageProps = { title: string; needs: string; children: ReactNode };

/** A page of settings that is one record; users who may not see it get the reason. */
export function SettingsPage({ title, needs, children }: SettingsPageProps) {
  const why = useWhyNot(needs);
  return (
    <>
      <PageTitle title={title} />
      <Tabs section="settings" label="Pages of the settings" />
      {why === null ? children : <NotAllowed why={why} />}
    </>
  );
}
