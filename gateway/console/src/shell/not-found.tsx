import { Link } from "@tanstack/react-router";
import { PageTitle } from "../parts/page-title.tsx";

export function NotFound() {
  return (
    <>
      <PageTitle title="No such page" />
      <p>
        This address leads nowhere. <Link to="/">Go to the overview</Link>
      </p>
    </>
  );
}
