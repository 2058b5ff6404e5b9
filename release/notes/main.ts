import { readVersioned } from './internal/read-versioned.ts'
import { releaseNotes } from './internal/release-notes.ts'

/** `node release/notes/main.ts vX.Y.Z` prints the notes of a release, or exits with 1 if the tag must not become one. */
const [tag = ''] = process.argv.slice(2)
const found = releaseNotes(tag, readVersioned())
if ('problem' in found) {
  process.stderr.write(`${found.problem}\n`)
  process.exitCode = 1
} else {
  process.stdout.write(`${found.notes}\n`)
}
