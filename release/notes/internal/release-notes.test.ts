import { expect, test } from 'vitest'
import { readVersioned } from './read-versioned.ts'
import { releaseNotes, type Versioned } from './release-notes.ts'

const released: Versioned = {
  packageJson: { version: '1.2.3' },
  chart: {
    version: '1.2.3',
    appVersion: '1.2.3',
    images: '- name: model-gateway\n  image: ghcr.io/a/model-gateway:1.2.3\n',
  },
  changelog:
    '# Changelog\n\n## Unreleased\n\n- later\n\n## 1.2.3 - 2026-11-25\n\n### Added\n\n- now\n\n## 1.2.2\n\n- before\n',
}

test('the notes of a tag are its section of CHANGELOG.md', () => {
  expect(releaseNotes('v1.2.3', released)).toEqual({ notes: '### Added\n\n- now' })
})

test.each([
  [
    'package.json',
    { packageJson: { version: '1.2.2' } },
    'The tag is v1.2.3, but the version in package.json is 1.2.2. Set all of them to 1.2.3.',
  ],
  [
    'the chart',
    { chart: { ...released.chart, version: '1.3.0' } },
    'The tag is v1.2.3, but the version in Chart.yaml is 1.3.0. Set all of them to 1.2.3.',
  ],
  [
    'the image of the chart',
    { chart: { ...released.chart, appVersion: '1.2.4' } },
    'The tag is v1.2.3, but the appVersion in Chart.yaml is 1.2.4. Set all of them to 1.2.3.',
  ],
  [
    'the listed image',
    { chart: { ...released.chart, images: '' } },
    'The tag is v1.2.3, but the tag of model-gateway in artifacthub.io/images of Chart.yaml is missing. Set all of them to 1.2.3.',
  ],
  [
    'the changelog',
    { changelog: '## Unreleased\n\n## 1.2.30\n' },
    'CHANGELOG.md has no section "## 1.2.3". Rename "## Unreleased" and add the date.',
  ],
])('a tag is no release if %s names another version', (_, changed, problem) => {
  expect(releaseNotes('v1.2.3', { ...released, ...changed })).toEqual({ problem })
})

test('package.json, the chart and its list of images name one version', () => {
  const versioned = readVersioned()
  const { version } = versioned.packageJson
  expect(releaseNotes(version, { ...versioned, changelog: `## ${version}\n\n- all` })).toEqual({
    notes: '- all',
  })
})
