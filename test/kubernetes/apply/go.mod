module ridealong.dev/test/kubernetes/apply

go 1.22

require gopkg.in/evanphx/json-patch.v4 v4.13.0
