// filters judges pods with kube-scheduler's own filter plugins, for tests that compare a scheduler's answers with its.
//
// Each line of its input is a world, each line of its output the answer to one: what an API server makes of the world's
// manifests, and the verdict on each pending pod and node: empty where the pod fits, else who refuses it and why. Every
// pod is asked about as if no other waited. Volumes, device claims, declared features, gangs and preemption: left out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	noderegistry "k8s.io/kubernetes/pkg/registry/core/node"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

type world struct {
	Nodes      []*v1.Node      `json:"nodes"`
	Bound      []*v1.Pod       `json:"bound"`
	Pending    []*v1.Pod       `json:"pending"`
	Namespaces []*v1.Namespace `json:"namespaces"`
}

// Refused says why an API server would not take the world; then there is nothing else. Verdicts are by pod, called
// namespace/name, and node.
type answer struct {
	Refused  string                       `json:"refused,omitempty"`
	Stored   world                        `json:"stored"`
	Verdicts map[string]map[string]string `json:"verdicts"`
}

// The last two are no filters: no framework is made without a plugin that sorts and one that binds.
var judges = []string{
	names.NodeUnschedulable, names.NodeAffinity, names.TaintToleration, names.NodePorts, names.NodeResourcesFit,
	names.PodTopologySpread, names.InterPodAffinity, names.PrioritySort, names.DefaultBinder,
}

func main() {
	metrics.Register()
	defaults, err := latest.Default()
	check(err)
	profile := &defaults.Profiles[0]
	everyone := &profile.Plugins.MultiPoint
	everyone.Enabled = slices.DeleteFunc(everyone.Enabled, func(plugin config.Plugin) bool {
		return !slices.Contains(judges, plugin.Name)
	})
	in, out := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20)), json.NewEncoder(os.Stdout)
	for in.More() {
		var asked world
		check(in.Decode(&asked))
		if errs := store(&asked); len(errs) > 0 {
			check(out.Encode(answer{Refused: "an API server would not take it: " + errs.ToAggregate().Error()}))
			continue
		}
		check(out.Encode(answer{Stored: asked, Verdicts: judge(profile, &asked)}))
	}
}

// store makes of manifests what an API server makes of them: it fills in defaults, merges matchLabelKeys and validates.
// Tolerations with Gt and Lt pass, as where their feature gate has been on for a while; off, they tolerate nothing.
func store(w *world) (errs field.ErrorList) {
	ctx := context.Background()
	for _, namespace := range w.Namespaces {
		legacyscheme.Scheme.Default(namespace)
	}
	for _, node := range w.Nodes {
		var internal core.Node
		convert(node, &internal)
		noderegistry.Strategy.PrepareForCreate(ctx, &internal)
		errs = append(errs, noderegistry.Strategy.Validate(ctx, &internal)...)
		check(legacyscheme.Scheme.Convert(&internal, node, nil))
	}
	for _, pod := range slices.Concat(w.Bound, w.Pending) {
		var internal core.Pod
		convert(pod, &internal)
		status := internal.Status
		podregistry.Strategy.PrepareForCreate(ctx, &internal)
		options := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
		options.AllowTaintTolerationComparisonOperators = true
		errs = append(errs, validation.ValidatePodCreate(&internal, options)...)
		internal.Status = status
		check(legacyscheme.Scheme.Convert(&internal, pod, nil))
	}
	return errs
}

func convert(object, internal runtime.Object) {
	legacyscheme.Scheme.Default(object)
	check(legacyscheme.Scheme.Convert(object, internal, nil))
}

func judge(profile *config.KubeSchedulerProfile, w *world) map[string]map[string]string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	listers := informers.NewSharedInformerFactory(nil, 0)
	for _, namespace := range w.Namespaces {
		check(listers.Core().V1().Namespaces().Informer().GetStore().Add(namespace))
	}
	snapshot := cache.NewSnapshot(present(w), w.Nodes)
	handle, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		frameworkruntime.WithInformerFactory(listers), frameworkruntime.WithSnapshotSharedLister(snapshot))
	check(err)
	nodes, err := snapshot.NodeInfos().List()
	check(err)
	verdicts := map[string]map[string]string{}
	for _, pod := range w.Pending {
		state, verdict := framework.NewCycleState(), map[string]string{}
		admitted, status, _ := handle.RunPreFilterPlugins(ctx, state, pod)
		for _, node := range nodes {
			name := node.Node().Name
			switch {
			case !status.IsSuccess():
				verdict[name] = status.Plugin() + ": " + strings.Join(status.Reasons(), "; ")
			case !admitted.AllNodes() && !admitted.NodeNames.Has(name):
				verdict[name] = "is not among the nodes that the pod names"
			default:
				verdict[name] = ""
				if refusal := handle.RunFilterPlugins(ctx, state, pod, node); !refusal.IsSuccess() {
					verdict[name] = refusal.Plugin() + ": " + strings.Join(refusal.Reasons(), "; ")
				}
			}
		}
		verdicts[pod.Namespace+"/"+pod.Name] = verdict
	}
	return verdicts
}

// present are the pods that kube-scheduler's watch and snapshot have: neither ended nor on a node that is gone.
func present(w *world) []*v1.Pod {
	return slices.DeleteFunc(slices.Clone(w.Bound), func(pod *v1.Pod) bool {
		ended := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		return ended || !slices.ContainsFunc(w.Nodes, func(node *v1.Node) bool { return node.Name == pod.Spec.NodeName })
	})
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
