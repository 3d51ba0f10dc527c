// Types of preact.js: those of the packages it is made from. Only the type check reads this file.
export { Component, Fragment, createContext, h, render, toChildArray } from 'preact';
export type { ComponentChildren, ComponentType, FunctionComponent, JSX, RefObject, VNode } from 'preact';
export { useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from '@preact/signals';
export type { ReadonlySignal, Signal } from '@preact/signals';
