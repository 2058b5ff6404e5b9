import type { Page } from 'playwright-core'

/**
 * Content that does not fit its width: the page scrolls sideways, or a text overflows its box. Elements that scroll or
 * clip on purpose, such as code and tables, are allowed.
 */
export function findOverflow(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    const wide = scrollWidth > clientWidth ? [`the page is ${scrollWidth - clientWidth} px too wide`] : []
    const standsOut = [...document.body.querySelectorAll<HTMLElement>('*')].filter((element) => {
      const { overflowX, display, clip, position } = getComputedStyle(element)
      const isSeen =
        element.checkVisibility() &&
        element.closest('.sr-only') === null &&
        !(position === 'absolute' && (clip !== 'auto' || element.clientWidth <= 1))
      const hasText = [...element.childNodes].some(
        (node) => node.nodeType === 3 && node.nodeValue?.trim() !== '',
      )
      return (
        isSeen &&
        hasText &&
        overflowX === 'visible' &&
        display !== 'inline' &&
        element.scrollWidth > element.clientWidth + 1
      )
    })
    const isCut = (table: Element) => {
      const holder = table.parentElement ?? table
      const edge = table.closest('section')?.getBoundingClientRect().right ?? Number.POSITIVE_INFINITY
      return getComputedStyle(holder).overflowX !== 'auto' && table.getBoundingClientRect().right > edge + 1
    }
    const cut = [...document.querySelectorAll('table')].filter(isCut)
    return [
      ...wide,
      ...cut.map((table) => `a table is cut off: ${table.caption?.textContent}`),
      ...standsOut.map((element) => `out of its box: ${element.outerHTML.slice(0, 140)}`),
    ]
  })
}

/** Makes every text of the dictionaries twice as long, as another language might; sums, times, ids and code stay. */
export async function withDoubledTexts(page: Page, look: () => Promise<void>): Promise<void> {
  await eachText(page, 'double')
  await look()
  await eachText(page, 'halve')
}

function eachText(page: Page, how: 'double' | 'halve'): Promise<void> {
  return page.evaluate((wanted) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const text = walker.currentNode as Text
      const isOurs =
        text.parentElement?.closest('data, time, code, pre, script, style, [translate=no]') === null
      const half = text.data.slice(0, (text.data.length - 1) / 2)
      if (!isOurs || !/\p{L}/u.test(text.data)) continue
      if (wanted === 'double') text.data = `${text.data} ${text.data}`
      else if (text.data === `${half} ${half}`) text.data = half
    }
  }, how)
}

/** A reader's browser setting: every text twice as large, and widths in rem with it. */
export async function withLargeText(page: Page, look: () => Promise<void>): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } })
  await look()
  await session.send('Page.setFontSizes', { fontSizes: { standard: 16, fixed: 13 } })
  await session.detach()
}

/** All texts of the page, visible or for screen readers, except code. */
export function readTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const said = [document.title]
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const isForeign = (element: Element | null) =>
      element?.closest('code, pre, script, style, kbd, textarea, [translate=no]') !== null ||
      element.closest('[lang]')?.getAttribute('lang') !== document.documentElement.lang
    while (walker.nextNode())
      if (!isForeign(walker.currentNode.parentElement)) said.push(walker.currentNode.nodeValue ?? '')
    for (const element of document.querySelectorAll('*'))
      for (const name of ['aria-label', 'title', 'placeholder', 'alt', 'aria-description'])
        if (element.hasAttribute(name) && !isForeign(element)) said.push(element.getAttribute(name) ?? '')
    return said.map((text) => text.trim()).filter((text) => text !== '')
  })
}

/** Animations that run although the reader has asked for reduced motion. */
export function findMotion(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const styles = [...document.querySelectorAll('*')].flatMap((element) => {
      const { animationName, animationDuration, transitionDuration } = getComputedStyle(element)
      const longest = Math.max(
        ...[animationName === 'none' ? '0s' : animationDuration, transitionDuration].flatMap((durations) =>
          durations.split(',').map(Number.parseFloat),
        ),
      )
      return longest > 0.01 ? [`moves for ${longest} s: ${element.outerHTML.slice(0, 120)}`] : []
    })
    return styles
  })
}

/**
 * What becomes invisible in forced colors, as in high contrast on Windows: fields without a border, an invisible focus,
 * or a choice shown only by color. Requires that the last input was a key, not a mouse.
 */
export function findLostInForcedColors(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const shown = (selector: string) =>
      [...document.querySelectorAll<HTMLElement>(selector)].filter((element) => element.checkVisibility())
    const nameOf = (element: Element) => element.outerHTML.slice(0, 140)
    const hasOutline = (element: Element) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      return outlineStyle !== 'none' && outlineWidth !== '0px'
    }
    const edgeless = shown('input:not([type=range]), select, textarea').filter((field) => {
      const { borderTopStyle, borderTopWidth, appearance } = getComputedStyle(field)
      return appearance === 'none' && (borderTopStyle === 'none' || borderTopWidth === '0px')
    })
    const unseen = shown('a[href], button, input, select, textarea, summary, [tabindex="0"]').filter(
      (element) => {
        element.focus()
        if (element !== document.activeElement) return false
        // Keyboard-only elements are visible through the element that they cover.
        const isClear = getComputedStyle(element).opacity === '0'
        return !hasOutline(isClear ? (element.parentElement ?? element) : element)
      },
    )
    const looksOf = (element: Element) => {
      const { borderColor, fontWeight, textDecorationLine, color } = getComputedStyle(element)
      return [
        borderColor,
        fontWeight,
        textDecorationLine,
        color,
        element.querySelector('svg') !== null,
      ].join()
    }
    const unchosen = shown(
      '[aria-selected=true], [aria-current=page], [aria-pressed=true]:not([aria-controls])',
    ).filter((chosen) =>
      [...(chosen.parentElement?.children ?? [])].some(
        (other) => other !== chosen && looksOf(other) === looksOf(chosen),
      ),
    )
    return [
      ...edgeless.map((field) => `has no edge: ${nameOf(field)}`),
      ...unseen.map((element) => `does not show the focus: ${nameOf(element)}`),
      ...unchosen.map((chosen) => `does not show that it is chosen: ${nameOf(chosen)}`),
    ]
  })
}
