import { expect, test } from 'vitest'
import { html } from './html.ts'
import { addressIn, languageOfAddress } from './public-addresses.ts'
import { writePublicDocument } from './public-document.ts'

const site = {
  origin: 'https://cabinet.example.ru',
  assets: { style: '/assets/site.css', script: '/assets/site.js' },
}
const page = {
  language: 'en',
  title: 'Errors <of> "all" kinds',
  description: 'Causes & remedies',
  path: '/docs/errors',
  body: html`<h1>Errors</h1>`,
} as const

test('a public page names its address in both languages, and what it is for search engines and messengers', () => {
  const document = writePublicDocument(page, site)
  const origin = 'https://cabinet.example.ru'
  expect(document).toContain(`<link rel="canonical" href="${origin}/en/docs/errors">`)
  expect(document).toContain(`<link rel="alternate" hreflang="ru" href="${origin}/docs/errors">`)
  expect(document).toContain(`<link rel="alternate" hreflang="en" href="${origin}/en/docs/errors">`)
  expect(document).toContain(`<link rel="alternate" hreflang="x-default" href="${origin}/docs/errors">`)
  expect(document).toContain('<title>Errors &lt;of&gt; &quot;all&quot; kinds · Model Gateway</title>')
  expect(document).toContain('<meta property="og:description" content="Causes &amp; remedies">')
  expect(document).toContain(`<meta property="og:url" content="${origin}/en/docs/errors">`)
  expect(document).toContain('<meta property="og:locale" content="en_US">')
})

test('a public page runs no script within it and has no style within it, in either theme', () => {
  const document = writePublicDocument(page, site, 'dark')
  expect(document).toMatch(/^<!doctype html>\n<html lang="en" data-theme="dark">/)
  expect(document).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/)
})

test('an address has a language, and each public address has one in each language', () => {
  for (const path of ['/', '/docs', '/docs/errors', '/models/demo/echo'])
    for (const language of ['ru', 'en'] as const)
      expect(languageOfAddress(addressIn(language, path))).toEqual({ language, path })
  expect(addressIn('en', '/')).toBe('/en')
  expect(languageOfAddress('/english')).toEqual({ language: 'ru', path: '/english' })
})
