import { Link } from "@tanstack/react-router";
import { Unplug } from "lucide-react";
import { to } from "../parts/links.ts";
import { PageTitle } from "../parts/page-title.tsx";
import { EmptyState } from "../parts/states.tsx";

export function NotFound() {
  return (
    <>
      <PageTitle title="No such page" />
      <EmptyState title="This address leads nowhere." icon={Unplug}>
        <Link {...to("/")} className="button">
          Go to the overview
        </Link>
      </EmptyState>
    </>
  );
}
