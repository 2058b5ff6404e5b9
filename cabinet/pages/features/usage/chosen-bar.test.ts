import { expect, test } from 'vitest'
import { barAt, barByKey } from './chosen-bar.ts'

test('every pixel of a bar belongs to that bar, including the last one; a point outside belongs to the nearest', () => {
  for (const [count, width] of [
    [1, 300],
    [7, 280],
    [30, 300],
    [744, 744],
  ] as const) {
    const bar = width / count
    for (let index = 0; index < count; index++)
      expect([0.01, 0.5, 0.99].map((part) => barAt((index + part) * bar, width, count))).toEqual([
        index,
        index,
        index,
      ])
    expect([barAt(-5, width, count), barAt(width, width, count), barAt(width + 5, width, count)]).toEqual([
      0,
      count - 1,
      count - 1,
    ])
  }
})

test('with no bar chosen, Home and End go to the ends, and arrows come in from them', () => {
  expect(['Home', 'End'].map((key) => barByKey(key, undefined, 7))).toEqual([0, 6])
  expect(['ArrowLeft', 'ArrowDown'].map((key) => barByKey(key, undefined, 7))).toEqual([6, 6])
  expect(['ArrowRight', 'ArrowUp'].map((key) => barByKey(key, undefined, 7))).toEqual([0, 0])
  expect(['ArrowLeft', 'ArrowRight', 'Home', 'End'].map((key) => barByKey(key, undefined, 1))).toEqual([
    0, 0, 0, 0,
  ])
})

test('keys go from bar to bar and stay within them; other keys are left alone', () => {
  expect(['ArrowLeft', 'ArrowRight'].map((key) => barByKey(key, 3, 7))).toEqual([2, 4])
  expect([barByKey('ArrowLeft', 0, 7), barByKey('ArrowRight', 6, 7)]).toEqual([0, 6])
  expect([barByKey('PageUp', 3, 100), barByKey('PageDown', 3, 100)]).toEqual([13, 0])
  expect(['Escape', 'Tab', 'a'].map((key) => barByKey(key, 3, 7))).toEqual([undefined, undefined, undefined])
})
