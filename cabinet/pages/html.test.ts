import { expect, test } from 'vitest'
import { html } from './html.ts'

test('a text in HTML stays text, in elements and in attributes', () => {
  const hostile = `"><script>alert('&')</script>`
  const { markup } = html`<a href="${hostile}">${hostile}</a>`
  const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;'
  expect(markup).toBe(`<a href="${escaped}">${escaped}</a>`)
})

test('HTML within HTML is kept, lists are joined, and absent parts leave nothing', () => {
  const items = ['a', 'b'].map((name) => html`<li>${name}</li>`)
  expect(html`<ul>${items}</ul>${undefined}${false}${0}`.markup).toBe('<ul><li>a</li><li>b</li></ul>0')
})
