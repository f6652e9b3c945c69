// Builds the console of a compiled checkout where its sources changed; the local stack runs it while PostgreSQL starts.
import { makeConsole } from "./prepare.mjs";

makeConsole();
