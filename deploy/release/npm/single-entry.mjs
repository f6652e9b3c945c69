// The command line as a single program, which has no top-level await.
import { start } from "../../cli/src/start.ts";

void start();
