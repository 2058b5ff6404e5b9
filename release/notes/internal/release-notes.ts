/** The texts in which a version is named. */
export type Versioned = {
  readonly packageJson: { readonly version: string }
  readonly chart: { readonly version: string; readonly appVersion: string; readonly images: string }
  readonly changelog: string
}

/** The notes of a release, or why this tag must not become one. */
export type ReleaseNotes = { readonly notes: string } | { readonly problem: string }

/**
 * The section of CHANGELOG.md that belongs to a tag such as `v1.2.3`, if package.json and the chart name the same
 * version. Pure.
 */
export function releaseNotes(tag: string, { packageJson, chart, changelog }: Versioned): ReleaseNotes {
  const version = tag.replace(/^v/, '')
  const named = [
    ['version in package.json', packageJson.version],
    ['version in Chart.yaml', chart.version],
    ['appVersion in Chart.yaml', chart.appVersion],
    ['tag of model-gateway in artifacthub.io/images of Chart.yaml', imageTag(chart.images)],
  ] as const
  const others = named
    .filter(([, other]) => other !== version)
    .map(([place, other]) => `${place} is ${other}`)
  if (others.length > 0)
    return { problem: `The tag is ${tag}, but the ${others.join(', the ')}. Set all of them to ${version}.` }
  const notes = sectionOf(changelog, version)
  return notes === undefined
    ? { problem: `CHANGELOG.md has no section "## ${version}". Rename "## Unreleased" and add the date.` }
    : { notes }
}

function imageTag(images: string): string {
  return /\/model-gateway:(\S+)$/m.exec(images)?.[1] ?? 'missing'
}

/** Without its heading, which may have a date: `## 1.2.3 - 2026-11-25`. */
function sectionOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1)
  const found = sections.find((section) => section.split(/[\s\]]/, 1)[0]?.replace('[', '') === version)
  return found?.slice(found.indexOf('\n')).trim()
}
