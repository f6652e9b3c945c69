#!/usr/bin/env node
import { keyProgram } from "./offline/key.ts";

process.exitCode = await keyProgram(process.argv.slice(2));
