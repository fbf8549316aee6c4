// Command cert-manager runs the real cert-manager controllers and CA injector
// (github.com/cert-manager/cert-manager's own packages) in one process, for
// tests: no leader election, no webhook, no ACME, no metrics or health ports.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	cmscheme "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
	corev1 "k8s.io/api/core/v1"
	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	apireg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	// Each of these registers one controller (controller.Known).
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"

	// Each of these registers one issuer type (issuer.RegisterIssuer).
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

func main() {
	var opts controller.ContextOptions
	flags := flag.NewFlagSet(os.Args[0], flag.ExitOnError) // controller-runtime has a -kubeconfig in the default set
	klog.InitFlags(flags)
	flags.StringVar(&opts.Kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "path of the kubeconfig (empty: in-cluster)")
	flags.StringVar(&opts.ClusterResourceNamespace, "cluster-resource-namespace", "cert-manager", "where ClusterIssuers' Secrets are")
	flags.DurationVar(&opts.CertificateRequestMinimumBackoffDuration, "min-backoff", time.Hour, "first wait after a failed request")
	flags.DurationVar(&opts.CertificateRequestMaximumBackoffDuration, "max-backoff", 32*time.Hour, "longest wait after failed requests")
	_ = flags.Parse(os.Args[1:])
	opts.KubernetesAPIQPS, opts.KubernetesAPIBurst = 50, 100
	if err := run(opts); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

// run starts everything and waits until it is asked to stop, or one of them fails.
func run(opts controller.ContextOptions) error {
	ctx := ctrl.SetupSignalHandler()
	ctrl.SetLogger(klog.Background())
	ctx = logf.NewContext(ctx, klog.Background())
	injector, err := newInjector(ctx, opts.Kubeconfig)
	if err != nil {
		return err
	}
	controllers, err := newControllers(ctx, opts)
	if err != nil {
		return err
	}
	errs := make(chan error, len(controllers)+1)
	var wg sync.WaitGroup
	for name, c := range controllers {
		wg.Go(func() {
			if err := c.Run(5, ctx); err != nil {
				errs <- fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	go func() { errs <- injector.Start(ctx) }()
	err = <-errs
	if err == nil { // asked to stop
		wg.Wait()
	}
	return err
}

// newControllers builds every controller that an import registered, and starts what they watch with.
func newControllers(ctx context.Context, opts controller.ContextOptions) (map[string]controller.Interface, error) {
	factory, err := controller.NewContextFactory(ctx, opts)
	if err != nil {
		return nil, err
	}
	controllers := map[string]controller.Interface{}
	for name, build := range controller.Known() {
		if controllers[name], err = build(factory); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	base, err := factory.Build() // its informer factories are the ones that all controllers share
	if err != nil {
		return nil, err
	}
	base.SharedInformerFactory.Start(ctx.Done())
	base.KubeSharedInformerFactory.Start(ctx.Done())
	return controllers, nil
}

// newInjector builds what writes caBundle into webhook configurations.
func newInjector(ctx context.Context, kubeconfig string) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(kscheme.AddToScheme(scheme), cmscheme.AddToScheme(scheme), apiext.AddToScheme(scheme), apireg.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(util.RestConfigWithUserAgent(cfg, "cainjector"), ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return nil, err
	}
	return mgr, cainjector.RegisterAllInjectors(ctx, mgr, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName: true,
		},
	})
}
