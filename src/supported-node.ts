import { nodeComplaint } from './node-version.ts'

/* Every entry point imports this first, since what it imports next fails on an older Node without saying why. */
if (nodeComplaint !== null) throw new Error(nodeComplaint)
