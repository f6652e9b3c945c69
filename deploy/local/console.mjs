// Builds the console of a compiled checkout where its sources changed; the local stack runs it beside the start of
// PostgreSQL.
import { makeConsole } from "./prepare.mjs";

makeConsole();
