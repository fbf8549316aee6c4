/// <reference path="../../../node_modules/uplot/dist/uPlot.d.ts" />
