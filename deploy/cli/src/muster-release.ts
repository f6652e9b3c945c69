#!/usr/bin/env node
import { releaseProgram } from "./offline/release.ts";

process.exitCode = await releaseProgram(process.argv.slice(2));
